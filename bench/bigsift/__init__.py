"""Programs of the BigSift paper (Gulzar et al., SoCC 2017), written from its description, with drawn data and one injected fault each."""
