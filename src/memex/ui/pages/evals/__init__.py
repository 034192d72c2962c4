"""The pages of Evals: runs of test cases, for administrators. Nothing is run here."""
