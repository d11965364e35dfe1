from bench.data.dialect import for_spark


def test_names_in_double_quotes_are_put_into_backticks_and_the_semicolon_goes():
    assert for_spark("\nSELECT a AS \"30 days\", 'it;s' AS b FROM t;\n") == "SELECT a AS `30 days`, 'it;s' AS b FROM t"
