public import Foundation
public import SystemPackage

/// Why a coordinated access did not take place.
///
/// The accessor was not run, or not on the item that the error names. The message says what failed, for which path, and what to do. An access of a coordinator
/// that was cancelled throws what it throws in Cocoa: `CocoaError.userCancelled`.
public struct FileCoordinationError: Error, CustomStringConvertible, Sendable {
    /// The kind of failure, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's stable name.
        public let description: String

        /// The caller's deadline passed before the access was granted (C-61).
        public static let deadlineExceeded = Code(description: "deadlineExceeded")
        /// The access would have waited for itself (C-50).
        public static let deadlock = Code(description: "deadlock")
        /// A presenter refused to save or to accommodate; its error is the cause (C-27).
        public static let presenterRefused = Code(description: "presenterRefused")
        /// The broker cannot be reached, speaks another version of the protocol, or will not have the request; nothing is accessed without it.
        public static let brokerUnavailable = Code(description: "brokerUnavailable")
        /// A URL is not a file URL, or names no path.
        public static let unusableURL = Code(description: "unusableURL")
        /// An item could not be looked at, or its snapshot not be made.
        public static let fileSystem = Code(description: "fileSystem")
    }

    /// The kind of failure.
    public let code: Code
    /// What failed, for which path, and what to do.
    public let message: String
    /// The item that it is about.
    public let path: FilePath?
    /// The error beneath: a presenter's own, or an `Errno`.
    public let cause: (any Error)?
    /// Whom the access waited for; of a deadlock the cycle, beginning with the access that failed.
    public let waits: [WaitStep]

    package init(_ code: Code, _ message: String, path: FilePath? = nil, cause: (any Error)? = nil, waits: [WaitStep] = []) {
        self.code = code
        self.message = message
        self.path = path
        self.cause = cause
        self.waits = waits
    }

    /// The message, with the cause behind it.
    public var description: String {
        guard let cause else { return message }
        return "\(message) (\(cause))"
    }
}

extension FileCoordinationError: CustomNSError {
    /// This module's.
    public static var errorDomain: String { "FileCoordination" }

    /// A number of this module's own.
    public var errorCode: Int {
        switch code {
        case .deadlineExceeded: 1
        case .deadlock: 2
        case .presenterRefused: 3
        case .unusableURL: 4
        case .brokerUnavailable: 6
        default: 5
        }
    }

    /// The message as `NSLocalizedDescriptionKey`.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}
