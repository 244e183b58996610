# The built-in rule set is a file of the rule language, compiled into the library.
stn_embed(rules HEADER kernel/rules/builtin.h TEXT NAME stn_kernel_rules
    FILES "${CMAKE_CURRENT_LIST_DIR}/kernel.rules")
target_sources(stn_kernel_rules PRIVATE ${rules})
