create or replace trigger requested_on_node before insert on workflow_wakes for each row execute function requested_on_node();
