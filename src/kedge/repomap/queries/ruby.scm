(module name: (_) @name @last) @module
(class name: (_) @name superclass: (_) @last) @class
(class name: (_) @name @last) @class
(method name: (_) @name parameters: (_) @last) @method
(method name: (_) @name @last) @method
(singleton_method name: (_) @name parameters: (_) @last) @method
(singleton_method name: (_) @name @last) @method

; Point = Struct.new(:x) do … end, Tug = Class.new(Ship) do … end
((assignment
    left: (constant) @name
    right: (_ method: (identifier) @_new block: (_) @inside)) @class
  (#match? @_new "^new$"))
(assignment left: (constant) @name) @constant

((call
    method: (identifier) @_macro
    arguments: (_ (simple_symbol) @name)) @property
  (#match? @_macro "^(attr_reader|attr_writer|attr_accessor|mattr_accessor|cattr_accessor|class_attribute)$"))
((call
    method: (identifier) @_macro
    arguments: (_ . (simple_symbol) @name)) @property
  (#match? @_macro "^(has_many|has_one|belongs_to|has_and_belongs_to_many|scope|enum)$"))
((call
    method: (identifier) @_macro
    arguments: (_ . (simple_symbol) @name)) @method
  (#match? @_macro "^(define_method|define_singleton_method)$"))
