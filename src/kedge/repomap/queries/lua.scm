(function_declaration name: (identifier) @name parameters: (_) @last) @function
(function_declaration
  name: (dot_index_expression table: (_) @in field: (identifier) @name)
  parameters: (_) @last) @function
(function_declaration
  name: (method_index_expression table: (_) @in method: (identifier) @name)
  parameters: (_) @last) @method

(assignment_statement
  (variable_list . name: (identifier) @name .)
  (expression_list . value: (function_definition parameters: (_) @last))) @function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @in field: (identifier) @name) .)
  (expression_list . value: (function_definition parameters: (_) @last))) @function

; A table of functions, or one that is named like a class.
(chunk
  [(variable_declaration
      (assignment_statement
        (variable_list . name: (identifier) @name .)
        (expression_list . (table_constructor (field value: (function_definition))) @value @inside .)))
   (assignment_statement
      (variable_list . name: (identifier) @name .)
      (expression_list . (table_constructor (field value: (function_definition))) @value @inside .))
   (assignment_statement
      (variable_list . name: (dot_index_expression table: (_) @in field: (identifier) @name) .)
      (expression_list . (table_constructor (field value: (function_definition))) @value @inside .))]
  @variable)
(chunk
  (variable_declaration
    (assignment_statement
      (variable_list . name: (identifier) @name .)
      (expression_list . (table_constructor) @value @inside .))) @variable
  (#match? @name "^_?[A-Z]"))
(expression_list
  (table_constructor
    (field name: (identifier) @name value: (function_definition parameters: (_) @last)) @method))

(chunk
  [(variable_declaration
      (assignment_statement
        (variable_list . name: (identifier) @name .) (expression_list . (_) @value .)))
   (assignment_statement
      (variable_list . name: (identifier) @name .) (expression_list . (_) @value .))
   (assignment_statement
      (variable_list . name: (dot_index_expression table: (_) @in field: (identifier) @name) .)
      (expression_list . (_) @value .))] @constant
  (#match? @name "^_?[A-Z][A-Z0-9_]+$"))

(chunk
  (return_statement
    (expression_list
      (table_constructor
        (field
          name: (identifier) @name
          value: (function_definition parameters: (_) @last)) @function))))

(function_call arguments: (arguments (function_definition) @opaque))
