-- How many projects somebody made is asked before each further one.
create index activity_project_made on activity ((actor->>'email')) where action = 'project.created';
