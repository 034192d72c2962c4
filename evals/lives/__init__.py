"""Lives: three weeks of an invented person's texts and questions, written by people who had not seen the rules."""
