(function_declaration name: (identifier) @name) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @in))
  name: (field_identifier) @name) @method
(interface_type (method_elem name: (field_identifier) @name) @method)

(type_declaration
  (type_spec
    name: (type_identifier) @name
    type: (struct_type (field_declaration_list) @body)) @struct) @head
(type_declaration
  (type_spec
    name: (type_identifier) @name
    type: (interface_type "{" @body)) @interface) @head
(type_declaration [(type_spec name: (_) @name) (type_alias name: (_) @name)] @type) @head

(source_file
  (const_declaration (const_spec (identifier) @name) @constant) @head
  (#match? @name "^[A-Z]"))
(source_file
  (var_declaration (var_spec name: (identifier) @name) @variable) @head
  (#match? @name "^[A-Z]"))
(source_file
  (var_declaration (var_spec_list (var_spec name: (identifier) @name) @variable)) @head
  (#match? @name "^[A-Z]"))
