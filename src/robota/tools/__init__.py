"""One module a tool, with its description for the model beside it.

May use contracts and what is below; decides no permission.
"""
