; What JavaScript and TypeScript share.

(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(class_declaration name: (_) @name) @class
(class_body (_ name: (_) @name parameters: (_)) @method)
(export_statement "default" @name value: [(function_expression) (arrow_function)] @function)
(export_statement "default" @name value: (class) @class)

; A constant that holds a function.
(program
  (_ (variable_declarator
    name: (identifier) @name
    value: [(arrow_function) (function_expression) (generator_function)] @made) @function) @head)
(export_statement
  (_ (variable_declarator
    name: (identifier) @name
    value: [(arrow_function) (function_expression) (generator_function)] @made) @function) @head)

; A constant that holds an object: its functions are members.
(program
  (_ (variable_declarator
    name: (identifier) @name value: (object) @inside) @variable) @head
  (#match? @name "^[A-Z]"))
(export_statement
  (_ (variable_declarator
    name: (identifier) @name value: (object) @inside) @variable) @head)
(variable_declarator
  value: (object (_ name: (_) @name) @method))
(variable_declarator
  value: (object
    (_ key: (_) @name
       value: [(arrow_function) (function_expression)] @made) @method))

(program
  (_ (variable_declarator name: (identifier) @name) @variable) @head
  (#match? @name "^[A-Z]"))
(export_statement
  (_ (variable_declarator name: (identifier) @name) @variable) @head)

; Ship.prototype.dock = function …, exports.moor = …, Ship.create = …, module.exports = function …
(expression_statement
  (_
    left: (_
      object: (_ object: (_) @in property: (_) @_prototype)
      property: (property_identifier) @name)
    "="
    right: [(arrow_function) (function_expression)] @made) @method
  (#match? @_prototype "^prototype$"))
(expression_statement
  (_
    left: (_ object: (_) property: (property_identifier) @_exports)
    "="
    right: (function_expression name: (identifier) @name body: (_) @body)) @function
  (#match? @_exports "^exports$"))
(expression_statement
  (_
    left: (_ object: (_) @in property: (property_identifier) @name)
    "="
    right: [(arrow_function) (function_expression)] @made) @function)

; What a call is given at top level, such as the body of a test. Where it is a function expression,
; it may be the body of a module: define(function () {…}).
(program (expression_statement (_
  function: (_)
  arguments: (_ (arrow_function) @opaque))))
(program (expression_statement (_
    function: (identifier) @_call
    arguments: (_ (function_expression) @opaque)))
  (#match? @_call "^(describe|it|test|suite|context|module|before|after)"))
