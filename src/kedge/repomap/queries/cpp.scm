; What C does not have.

(class_specifier name: (_) @name body: (_)) @class
(namespace_definition name: (_) @name) @namespace
(alias_declaration name: (_) @name) @type
(concept_definition name: (_) @name) @type
(declaration declarator: (reference_declarator (function_declarator)) @declarator) @prototype
(declaration declarator: (operator_cast) @declarator) @prototype
(field_declaration declarator: (function_declarator) @declarator) @prototype
(field_declaration declarator: (_ "*" (function_declarator)) @declarator) @prototype
(field_declaration declarator: (reference_declarator (function_declarator)) @declarator) @prototype
(field_declaration declarator: (operator_cast) @declarator) @prototype
(namespace_definition
  body: (declaration_list (declaration declarator: (_) @declarator) @variable))
