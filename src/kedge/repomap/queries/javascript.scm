(class_body
  (field_definition
    property: (property_identifier) @name
    value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @method)
(class_body (field_definition property: (property_identifier) @name) @property)
