@_exported public import Foundation

/// The place of an error that a blocking method may fail with; pass `&error`, or nil.
///
/// Foundation for Linux does not declare it, because it has no autoreleasing pointers.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
