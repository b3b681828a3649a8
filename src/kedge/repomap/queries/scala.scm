(class_definition name: (_) @name) @class
(object_definition name: (_) @name) @object
(package_object name: (_) @name) @object
(trait_definition name: (_) @name) @trait
(enum_definition name: (_) @name) @enum
(function_definition name: (_) @name) @function
(function_declaration name: (_) @name) @function
(type_definition name: (_) @name) @type
(given_definition name: (_) @name) @object
(given_definition !name return_type: (_) @name) @scope

(compilation_unit (val_definition pattern: (identifier) @name) @variable)
(compilation_unit (var_definition pattern: (identifier) @name) @variable)
(template_body (val_definition pattern: (identifier) @name) @property)
(template_body (var_definition pattern: (identifier) @name) @property)
(template_body (val_declaration name: (identifier) @name) @property)
(template_body (var_declaration name: (identifier) @name) @property)
(enum_body (val_definition pattern: (identifier) @name) @property)
(instance_expression (template_body) @opaque)
