"""Which nodes of a syntax tree define something, and which use a name: queries of tree-sitter, by language.

A capture named after a kind of symbol is the node of a definition, `name` its name, and `within` a node that is not a
definition itself but gives its `name` to those in it. `use` is a name that is used.
"""

from typing import Final

PYTHON: Final = """
(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(module (expression_statement (assignment left: (identifier) @name) @constant))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @field)))
(module (type_alias_statement left: (type (identifier) @name)) @type)
(call function: [(identifier) @use (attribute attribute: (identifier) @use)])
(type [(identifier) @use (attribute attribute: (identifier) @use) (generic_type (identifier) @use)])
(decorator [(identifier) @use (attribute attribute: (identifier) @use)])
(class_definition superclasses: (argument_list [(identifier) @use (attribute attribute: (identifier) @use)]))
(import_from_statement name: [(dotted_name (identifier) @use) (aliased_import name: (dotted_name (identifier) @use))])
"""

JAVASCRIPT: Final = """
(class_declaration name: (_) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @method
(program (lexical_declaration
  (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function))
(program (export_statement (lexical_declaration
  (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function)))
(program (lexical_declaration (variable_declarator name: (identifier) @name) @variable))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @variable)))
(program (variable_declaration (variable_declarator name: (identifier) @name) @variable))
(call_expression function: [(identifier) @use (member_expression property: (property_identifier) @use)])
(new_expression constructor: [(identifier) @use (member_expression property: (property_identifier) @use)])
(import_specifier name: (identifier) @use)
(export_specifier name: (identifier) @use)
"""

JAVASCRIPT_ONLY: Final = """
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @field
(class_heritage (identifier) @use)
(jsx_opening_element name: (identifier) @use)
(jsx_self_closing_element name: (identifier) @use)
"""

TYPESCRIPT: Final = """
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(internal_module name: (identifier) @name) @module
(function_signature name: (identifier) @name) @function
(method_signature name: (property_identifier) @name) @method
(abstract_method_signature name: (property_identifier) @name) @method
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @field
(type_identifier) @use
(class_heritage (extends_clause value: (identifier) @use))
"""

TSX_ONLY: Final = """
(jsx_opening_element name: (identifier) @use)
(jsx_self_closing_element name: (identifier) @use)
"""

GO: Final = """
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(type_spec name: (type_identifier) @name type: (struct_type)) @class
(type_spec name: (type_identifier) @name) @type
(type_alias name: (type_identifier) @name) @type
(function_declaration name: (identifier) @name) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (pointer_type (type_identifier) @owner)
    (generic_type type: (type_identifier) @owner)
    (pointer_type (generic_type type: (type_identifier) @owner))]))
  name: (field_identifier) @name) @method
(method_elem name: (field_identifier) @name) @method
(source_file (const_declaration (const_spec name: (identifier) @name) @constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @variable))
(call_expression function: [(identifier) @use (selector_expression field: (field_identifier) @use)])
(type_identifier) @use
"""

RUST: Final = """
(struct_item name: (type_identifier) @name) @class
(union_item name: (type_identifier) @name) @class
(enum_item name: (type_identifier) @name) @enum
(trait_item name: (type_identifier) @name) @interface
(type_item name: (type_identifier) @name) @type
(mod_item name: (identifier) @name) @module
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(macro_definition name: (identifier) @name) @macro
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @variable
(impl_item type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]) @within
(call_expression function: [
  (identifier) @use
  (field_expression field: (field_identifier) @use)
  (scoped_identifier name: (identifier) @use)])
(macro_invocation macro: (identifier) @use)
(type_identifier) @use
(use_declaration argument: (scoped_identifier name: (identifier) @use))
(use_list (identifier) @use)
"""

JAVA: Final = """
(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @field
(method_invocation name: (identifier) @use)
(type_identifier) @use
(marker_annotation name: (identifier) @use)
"""

BASH: Final = """
(function_definition name: (word) @name) @function
(command_name (word) @use)
"""

QUERIES: Final = {
    "bash": BASH,
    "go": GO,
    "java": JAVA,
    "javascript": JAVASCRIPT + JAVASCRIPT_ONLY,
    "python": PYTHON,
    "rust": RUST,
    "tsx": JAVASCRIPT + TYPESCRIPT + TSX_ONLY,
    "typescript": JAVASCRIPT + TYPESCRIPT,
}
# Names of nodes that stand for a name, besides those that contain this word.
NAME_NODES: Final = frozenset({"word", "variable_name", "constant", "dotted_name"})
