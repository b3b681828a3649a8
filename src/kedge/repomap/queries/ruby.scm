(module name: (_) @name) @module
(class name: (_) @name) @class
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method

; Point = Struct.new(:x) do … end, Tug = Class.new(Ship) do … end
((assignment
    left: (constant) @name
    right: (call method: (identifier) @_new block: (_) @inside)) @class
  (#eq? @_new "new"))
(assignment left: (constant) @name) @constant

((call
    method: (identifier) @_macro
    arguments: (argument_list (simple_symbol) @name)) @property
  (#any-of? @_macro "attr_reader" "attr_writer" "attr_accessor" "mattr_accessor" "cattr_accessor"
    "class_attribute"))
((call
    method: (identifier) @_macro
    arguments: (argument_list . (simple_symbol) @name)) @property
  (#any-of? @_macro "has_many" "has_one" "belongs_to" "has_and_belongs_to_many" "scope" "enum"))
((call
    method: (identifier) @_macro
    arguments: (argument_list . (simple_symbol) @name)) @method
  (#any-of? @_macro "define_method" "define_singleton_method"))
