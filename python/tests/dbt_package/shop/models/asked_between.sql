select * from {{ attest.definition_between("b", '2024-05-01', '2024-08-31', groups=['readers'], known_at='2025-01-01') }}
