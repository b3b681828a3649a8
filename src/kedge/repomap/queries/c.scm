(function_definition declarator: (_) @declarator) @function
(declaration declarator: (function_declarator) @declarator) @prototype
(declaration declarator: (_ "*" (function_declarator)) @declarator) @prototype
(declaration
  declarator: (_ "*" (_ "*" (function_declarator))) @declarator) @prototype

(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(type_definition type: (_ body: (_) @fold) declarator: (_) @declarator) @type
(type_definition declarator: (_) @declarator) @type

((preproc_if condition: (number_literal) @_zero) @opaque (#match? @_zero "^0$"))
(preproc_function_def name: (identifier) @name parameters: (_) @last) @macro
(preproc_def name: (identifier) @name value: (_) @value) @constant

(translation_unit (declaration declarator: (_) @declarator) @variable)
(preproc_ifdef (declaration declarator: (_) @declarator) @variable)
(preproc_if (declaration declarator: (_) @declarator) @variable)
