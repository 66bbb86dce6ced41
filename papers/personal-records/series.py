"""Names of series that figures and claims share."""

OURS = "model-average (ours)"
PRODUCT = "product of single attributes"
EQ_16 = "Eq. 16 as printed"
