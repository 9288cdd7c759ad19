// The umbrella that an app imports.
@_exported public import FileCoordination
@_exported public import TreeWatching
@_exported public import UbiquityContainers
@_exported public import UbiquityStores
