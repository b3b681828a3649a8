(namespace_definition name: (_) @name) @namespace
(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(trait_declaration name: (name) @name) @trait
(enum_declaration name: (name) @name) @enum
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @method
(const_declaration (const_element . (name) @name) @constant) @head
(property_declaration (property_element name: (_) @name) @property) @head
((function_call_expression
    function: (name) @_define
    arguments: (arguments . (argument (string (string_content) @name)))) @constant
  (#match? @_define "^define$"))
(anonymous_class) @opaque
(anonymous_function) @opaque
