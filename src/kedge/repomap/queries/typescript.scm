; The types and signatures that JavaScript does not have.

(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @enum
(function_signature name: (identifier) @name) @function
(internal_module name: (_) @name) @module
(module name: (_) @name) @module
(interface_body (_ name: (_) @name parameters: (_)) @method)
(interface_body
  (_
    name: (property_identifier) @name
    type: (_ (function_type))) @method)
(class_body
  (_
    name: (property_identifier) @name
    value: [(arrow_function) (function_expression)] @made) @method)
(class_body (_ name: (property_identifier) @name) @property)
(ambient_declaration
  (_ (variable_declarator name: (identifier) @name) @variable) @head)
