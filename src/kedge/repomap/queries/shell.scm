(function_definition name: (_) @name) @function
(program (declaration_command (variable_assignment name: (_) @name) @variable) @head)
((program (variable_assignment name: (variable_name) @name) @variable)
  (#set! name.is "^[A-Z][A-Z0-9_]{2,}$")
  (#set! name.isnt "^(PATH|IFS)$"))
