"""The health of a service: the checks of the doctor, and the figures of a tenant."""
