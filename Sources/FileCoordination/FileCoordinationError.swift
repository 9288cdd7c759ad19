public import Foundation
public import SystemPackage

/// The reason why a coordinated access failed.
///
/// The accessor did not run, or not on the item that the error names. The message says what failed, for which path, and
/// what to do. An access of a cancelled coordinator throws `CocoaError.userCancelled`, as in Cocoa.
public struct FileCoordinationError: Error, CustomStringConvertible, Sendable {
    /// The kind of failure, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's stable name.
        public let description: String

        /// The caller's deadline passed before the access was granted.
        public static let deadlineExceeded = Code(description: "deadlineExceeded")
        /// The access would have waited for itself.
        public static let deadlock = Code(description: "deadlock")
        /// A presenter refused to save or to accommodate; its error is the cause.
        public static let presenterRefused = Code(description: "presenterRefused")
        /// The broker cannot be reached, speaks another protocol version, or refuses the request; no access takes place
        /// without it.
        public static let brokerUnavailable = Code(description: "brokerUnavailable")
        /// A URL is not a file URL, or names no path.
        public static let unusableURL = Code(description: "unusableURL")
        /// An item that is not on this device could not be brought here.
        public static let downloadFailed = Code(description: "downloadFailed")
        /// An item could not be inspected, or its snapshot could not be made.
        public static let fileSystem = Code(description: "fileSystem")
    }

    /// The kind of failure.
    public let code: Code
    /// The failure, its path, and the remedy.
    public let message: String
    /// The item that the error concerns.
    public let path: FilePath?
    /// The underlying error: an `Errno`, or a presenter's own error.
    ///
    /// If the presenter is in another process, that is an `NSError` with the domain, the code and the words of the presenter's error; in
    /// Cocoa's domain it is a `CocoaError`.
    public let cause: (any Error)?
    /// The steps that the access waited for; for a deadlock, the cycle, beginning with the access that failed.
    public let waits: [WaitStep]

    package init(_ code: Code, _ message: String, path: FilePath? = nil, cause: (any Error)? = nil, waits: [WaitStep] = []) {
        self.code = code
        self.message = message
        self.path = path
        self.cause = cause
        self.waits = waits
    }

    /// The message, followed by the cause.
    public var description: String {
        // A refusal has the presenter's words in its message.
        guard let cause, code != .presenterRefused else { return message }
        return "\(message) (\(cause))"
    }
}

extension FileCoordinationError: CustomNSError {
    /// The error domain of this module.
    public static var errorDomain: String { "FileCoordination" }

    /// The error's number within this module.
    public var errorCode: Int {
        switch code {
        case .deadlineExceeded: 1
        case .deadlock: 2
        case .presenterRefused: 3
        case .unusableURL: 4
        case .brokerUnavailable: 6
        case .downloadFailed: 7
        default: 5
        }
    }

    /// The message as `NSLocalizedDescriptionKey`.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}

extension PresenterRefusal {
    /// The presenter's error, made again in this process.
    var error: any Error {
        let words = [NSLocalizedDescriptionKey: reason]
        guard domain == NSCocoaErrorDomain else { return NSError(domain: domain, code: code, userInfo: words) }
        return CocoaError(CocoaError.Code(rawValue: code), userInfo: words)
    }
}
