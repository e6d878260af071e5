create or replace trigger transaction_of_node before insert on emitted_events for each row execute function transaction_of_node();
