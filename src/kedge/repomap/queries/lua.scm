(function_declaration name: (identifier) @name) @function
(function_declaration
  name: (dot_index_expression table: (_) @in field: (identifier) @name)) @function
(function_declaration
  name: (method_index_expression table: (_) @in method: (identifier) @name)) @function

(assignment_statement
  (variable_list . name: (identifier) @name .)
  (expression_list . value: (function_definition parameters: (_) @last))) @function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @in field: (identifier) @name) .)
  (expression_list . value: (function_definition parameters: (_) @last))) @function

; A table at top level: its functions are members.
(chunk
  [(variable_declaration
      (assignment_statement
        (variable_list . name: (identifier) @name .)
        (expression_list . value: (table_constructor) @inside .)))
   (assignment_statement
      (variable_list . name: (identifier) @name .)
      (expression_list . value: (table_constructor) @inside .))
   (assignment_statement
      (variable_list . name: (dot_index_expression table: (_) @in field: (identifier) @name) .)
      (expression_list . value: (table_constructor) @inside .))] @table)
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

(function_call arguments: (arguments (function_definition) @opaque))
