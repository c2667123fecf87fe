-- Whether another project held a very name, verified, until lately: claims of it that were given up unverified say nothing, however many they are.
create index domain_released_verified on domains (hostname, project_id) where deleted_at is not null and verified_at is not null;
