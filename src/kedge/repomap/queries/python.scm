(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(type_alias_statement left: (type [(identifier) @name (generic_type (identifier) @name)])) @type

(module
  [(expression_statement (_ left: (identifier) @name ["=" ":"]) @variable)
   (if_statement (_ (expression_statement (_ left: (identifier) @name ["=" ":"]) @variable)))
   (if_statement
     (else_clause (_ (expression_statement (_ left: (identifier) @name ["=" ":"]) @variable))))
   (try_statement (_ (expression_statement (_ left: (identifier) @name ["=" ":"]) @variable)))
   (try_statement
     (except_clause (_ (expression_statement (_ left: (identifier) @name ["=" ":"]) @variable))))]
  (#match? @name "^_{0,2}[A-Z].")
  (#not-match? @name "^_?LOG(GER)?$"))

; Objects that other modules use: app = FastAPI(), register = Library(), urlpatterns = [...]
(module
  (expression_statement
    (_ left: (identifier) @name "=" right: [(call) (list)]) @variable)
  (#match? @name "^[a-z]")
  (#not-match? @name "^log(ger|ging)?$"))
