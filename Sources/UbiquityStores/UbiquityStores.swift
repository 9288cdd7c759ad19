// An app that imports this module imports what the modules below declare as public.
@_exported public import StoreExchange
@_exported public import StoreFormat
@_exported public import StoreRecords
