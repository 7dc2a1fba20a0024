"""Every cell ever bought: what is known, what is being bought, who counts it."""
