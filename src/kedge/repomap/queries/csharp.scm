(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @struct
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(delegate_declaration name: (identifier) @name) @type
(namespace_declaration name: (_) @name) @namespace
(file_scoped_namespace_declaration name: (_) @name) @namespace
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(destructor_declaration "~" @name) @opaque
(operator_declaration operator: _ @name) @method
(conversion_operator_declaration type: (_) @name) @method
(indexer_declaration "this" @name) @property
(property_declaration name: (identifier) @name) @property
(event_declaration name: (identifier) @name) @property
(field_declaration
  (variable_declaration (variable_declarator name: (identifier) @name) @property)) @head
(event_field_declaration
  (variable_declaration (variable_declarator name: (identifier) @name) @property)) @head
(compilation_unit
  (global_statement (local_function_statement name: (identifier) @name) @function))
