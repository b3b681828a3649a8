(function_definition name: (_) @name) @function
(program (declaration_command (variable_assignment name: (_) @name) @variable) @head)
((program (variable_assignment name: (variable_name) @name) @variable)
  (#match? @name "^[A-Z][A-Z0-9_]{2,}$")
  (#not-match? @name "^(PATH|IFS)$"))
