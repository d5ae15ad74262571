"""Plans: phases of steps that one agent does in order, in one workspace; pure."""
