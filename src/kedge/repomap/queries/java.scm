(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(compact_constructor_declaration name: (identifier) @name) @method
(annotation_type_element_declaration name: (identifier) @name) @method
(field_declaration declarator: (variable_declarator name: (identifier) @name) @property) @head
(constant_declaration declarator: (variable_declarator name: (identifier) @name) @constant) @head

(enum_constant body: (_)) @opaque
(static_initializer) @opaque
(class_body (block) @opaque)
