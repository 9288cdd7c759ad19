// The umbrella that an app imports.
@_exported public import FileCoordination
@_exported public import StoreInspection
@_exported public import TreeWatching
@_exported public import UbiquityContainers
@_exported public import UbiquityDocuments
@_exported public import UbiquityKeyValues
@_exported public import UbiquityStores

// Paths are its, all over the interface.
@_exported public import struct SystemPackage.FilePath
