{#- Arguments of any type a person would pass, brought to one type. Each takes SQL text and gives SQL text. -#}

{#- An instant. Without an offset it is UTC in every session time zone; a bare date is the end of that day in UTC, and
    today is everything recorded. Null stays null. -#}
{% macro to_instant(value) -%}
  case
    when {{ value }} is null then null
    when typeof({{ value }}) = 'TIMESTAMP WITH TIME ZONE' then try_cast({{ value }} as timestamptz)
    when typeof({{ value }}) = 'DATE' or regexp_full_match(cast({{ value }} as varchar), '\s*\d{4}-\d{1,2}-\d{1,2}\s*') then
      case
        when try_cast(cast({{ value }} as varchar) as date) = {{ attest.today() }} then timestamptz 'infinity'
        else {{ attest.end_of_day('try_cast(cast(' ~ value ~ ' as varchar) as date)') }}
      end
    when typeof({{ value }}) like 'TIMESTAMP%' or not regexp_matches(cast({{ value }} as varchar), '([zZ]|[+-]\d{2}(:?\d{2})?)\s*$')
      then timezone('UTC', try_cast(cast({{ value }} as varchar) as timestamp))
    else try_cast(cast({{ value }} as varchar) as timestamptz)
  end
{%- endmacro %}

{#- A date; an instant is taken at UTC. -#}
{% macro to_date(value) -%}
  case
    when typeof({{ value }}) = 'TIMESTAMP WITH TIME ZONE'
      then cast(timezone('UTC', try_cast({{ value }} as timestamptz)) as date)
    when typeof({{ value }}) in ('DATE', 'TIMESTAMP') then try_cast({{ value }} as date)
    else try_cast(cast({{ value }} as varchar) as date)
  end
{%- endmacro %}

{#- A list of text, from a list or from text with commas. -#}
{% macro to_list(value) -%}
  coalesce(
    try_cast({{ value }} as varchar[]),
    list_transform(string_split(cast({{ value }} as varchar), ','), lambda item: trim(item)))
{%- endmacro %}

{#- A map of text, from a map, a struct or JSON text; null where it is none of these. -#}
{% macro to_map(value) -%}
  try_cast(case when typeof({{ value }}) = 'VARCHAR' then try_cast({{ value }} as json) else to_json({{ value }}) end
    as map(varchar, varchar))
{%- endmacro %}

{% macro today() -%}
  cast(timezone('UTC', now()) as date)
{%- endmacro %}

{#- The last instant of a UTC date. -#}
{% macro end_of_day(date) -%}
  timezone('UTC', cast({{ date }} as timestamp) + interval 1 day - interval 1 microsecond)
{%- endmacro %}

{#- The UTC date of an instant. -#}
{% macro utc_date(instant) -%}
  cast(timezone('UTC', {{ instant }}) as date)
{%- endmacro %}
