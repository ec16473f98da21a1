"""An app of the tests alone: emptying the database between them goes through the trail's door."""
