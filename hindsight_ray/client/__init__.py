"""The client: what agents and operators hold in their hands, the same embedded and on Ray."""
