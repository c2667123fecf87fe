-- What visitors see in place of a project's application while that does not answer: HTML of the vendor's own.
alter table projects
  add column error_page text constraint project_error_page_size check (octet_length(error_page) <= 32768);
