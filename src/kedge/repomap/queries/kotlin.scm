(class_declaration "interface" name: (identifier) @name) @interface
((class_declaration (modifiers (class_modifier) @_enum) name: (identifier) @name) @enum
  (#match? @_enum "^enum$"))
(class_declaration name: (identifier) @name) @class
(object_declaration name: (identifier) @name) @object
(type_alias type: (identifier) @name) @type

; fun String.toPort(): the receiver's type is the parent.
(function_declaration
  [(user_type) (nullable_type) (parenthesized_type)] @in . "." . name: (identifier) @name) @function
(function_declaration name: (identifier) @name) @function
(secondary_constructor "constructor" @name (block) @body) @method
(secondary_constructor "constructor" @name) @method

(source_file
  (property_declaration
    [(user_type) (nullable_type)] @in . "." . (variable_declaration (identifier) @name)) @property)
(source_file (property_declaration (variable_declaration . (identifier) @name)) @variable)
(class_body (property_declaration (variable_declaration . (identifier) @name)) @property)
(enum_class_body (property_declaration (variable_declaration . (identifier) @name)) @property)

(enum_entry) @opaque
(anonymous_initializer) @opaque
