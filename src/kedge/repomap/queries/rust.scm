(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(union_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(trait_item name: (type_identifier) @name) @trait
(impl_item type: (_) @name) @scope
(type_item name: (type_identifier) @name) @type
(associated_type name: (type_identifier) @name) @type
(macro_definition name: (identifier) @name @last) @macro
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @variable

; The tests of a file are not part of what it offers.
((mod_item name: (identifier) @name body: (_)) @opaque
  (#match? @name "^tests?$"))
(mod_item name: (identifier) @name body: (_)) @module
