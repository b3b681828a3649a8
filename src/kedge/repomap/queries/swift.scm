(class_declaration declaration_kind: "struct" name: (_) @name) @struct
(class_declaration declaration_kind: "enum" name: (_) @name) @enum
(class_declaration declaration_kind: "extension" name: (_) @name) @extension
(class_declaration name: (_) @name) @class
(protocol_declaration name: (_) @name) @interface
(typealias_declaration name: (type_identifier) @name) @type
(associatedtype_declaration name: (_) @name) @type
(function_declaration "func" . name: _ @name) @function
(protocol_function_declaration "func" . name: _ @name) @function
(init_declaration "init" @name) @method
(subscript_declaration "subscript" @name) @method
(deinit_declaration) @opaque

(source_file
  (property_declaration
    (value_binding_pattern mutability: "let")
    name: (pattern bound_identifier: (_) @name)) @constant)
(source_file (property_declaration name: (pattern bound_identifier: (_) @name)) @variable)
(class_body (property_declaration name: (pattern bound_identifier: (_) @name)) @property)
(enum_class_body (property_declaration name: (pattern bound_identifier: (_) @name)) @property)
(protocol_property_declaration name: (pattern bound_identifier: (_) @name)) @property
