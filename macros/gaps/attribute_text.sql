{#- The value of one of the attributes that a definition needs, as text. -#}
{% macro attribute_text(definition, attribute) -%}
  case {{ attribute }}
    when 'authority' then {{ definition }}.authority
    when 'effective_from' then cast({{ definition }}.effective_from as varchar)
    when 'approved_by' then {{ definition }}.approved_by
    when 'owner' then nullif(array_to_string(list_transform({{ definition }}.owners, lambda one: one.name), ', '), '')
    when 'grain' then {{ definition }}.grain
    when 'definition' then {{ definition }}.definition
  end
{%- endmacro %}
