(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(type_alias_statement left: (type [(identifier) @name (generic_type (identifier) @name)])) @type

(module
  [(expression_statement (assignment left: (identifier) @name) @variable)
   (if_statement (block (expression_statement (assignment left: (identifier) @name) @variable)))
   (if_statement
     (else_clause (block (expression_statement (assignment left: (identifier) @name) @variable))))
   (try_statement (block (expression_statement (assignment left: (identifier) @name) @variable)))
   (try_statement
     (except_clause (block (expression_statement (assignment left: (identifier) @name) @variable))))]
  (#match? @name "^_{0,2}[A-Z].")
  (#not-match? @name "^_?LOG(GER)?$"))

; Objects that other modules use: app = FastAPI(), register = Library(), urlpatterns = [...]
(module
  (expression_statement
    (assignment left: (identifier) @name right: [(call) (list)]) @variable)
  (#match? @name "^[a-z]")
  (#not-match? @name "^log(ger|ging)?$"))
