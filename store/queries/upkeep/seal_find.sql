-- Return the key of the seals. No row comes back before the first service has made it. For maintenance.
select inner_key, outer_key from seal;
