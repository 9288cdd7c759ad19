import FileCoordination
package import Foundation
import SystemPackage
import UbiquityContainers

/// The purpose of a failed call, which chooses between Cocoa's codes for reading and for writing.
package enum FailedAccess: Sendable {
    /// The call reads.
    case reading
    /// The call writes, moves or deletes.
    case writing
}

/// Returns an error in Cocoa's domains for an error of this package.
///
/// A presenter that refused gives its own error. A cancelled access gives `CocoaError.userCancelled`. Other errors of this package become a
/// code of `NSCocoaErrorDomain` with the path under `NSFilePathErrorKey`, the words, which name the remedy, under
/// `NSLocalizedDescriptionKey`, and the package's error or its cause under `NSUnderlyingErrorKey`. Any other error stays as it is.
///
/// - Parameters:
///   - error: the error.
///   - access: what the call has attempted.
/// - Returns: the error for a caller of Cocoa's names.
package func cocoaError(_ error: any Error, _ access: FailedAccess = .writing) -> NSError {
    switch error {
    case let error as FileCoordinationError:
        if error.code == .presenterRefused, let cause = error.cause { return cause as NSError }
        return make(code(of: error, access), path: error.path, words: error.description, underlying: error.cause ?? error)
    case let error as ContainerError:
        return make(code(of: error, access), path: error.path, words: error.description, underlying: error.cause ?? error)
    case let error as Errno: return make(code(of: error, access), path: nil, words: error.description, underlying: posix(error))
    case is CancellationError: return CocoaError(.userCancelled) as NSError
    default: return error as NSError
    }
}

private func make(_ code: CocoaError.Code, path: FilePath?, words: String, underlying: any Error) -> NSError {
    var information: [String: Any] = [NSLocalizedDescriptionKey: words]
    information[NSUnderlyingErrorKey] = (underlying as? Errno).map { posix($0) } ?? underlying as NSError
    if let path {
        information[NSFilePathErrorKey] = path.string
        information[NSURLErrorKey] = URL(filePath: path.string)
    }
    return NSError(domain: NSCocoaErrorDomain, code: code.rawValue, userInfo: information)
}

private func posix(_ error: Errno) -> NSError {
    NSError(domain: NSPOSIXErrorDomain, code: Int(error.rawValue), userInfo: [NSLocalizedDescriptionKey: error.description])
}

private func code(of error: FileCoordinationError, _ access: FailedAccess) -> CocoaError.Code {
    switch error.code {
    case .deadlock: .fileLocking
    case .unusableURL: access == .reading ? .fileReadUnsupportedScheme : .fileWriteUnsupportedScheme
    case .downloadFailed: .ubiquitousFileUnavailable
    case .fileSystem: code(of: error.cause, access)
    default: access == .reading ? .fileReadUnknown : .fileWriteUnknown
    }
}

private func code(of error: ContainerError, _ access: FailedAccess) -> CocoaError.Code {
    switch error.code {
    case .signedOut, .rootUnavailable: .ubiquitousFileUbiquityServerNotAvailable
    case .notDeclared, .notInContainer: access == .reading ? .fileReadNoSuchFile : .fileNoSuchFile
    case .invalidName: access == .reading ? .fileReadInvalidFileName : .fileWriteInvalidFileName
    case .fileExists: .fileWriteFileExists
    case .notAllowed: access == .reading ? .fileReadNoPermission : .fileWriteNoPermission
    case .notAvailable: .featureUnsupported
    case .malformed, .newerFormat: .fileReadCorruptFile
    default: code(of: error.cause, access)
    }
}

private func code(of cause: (any Error)?, _ access: FailedAccess) -> CocoaError.Code {
    if let cause = cause as? CocoaError { return cause.code }
    switch cause as? Errno {
    case .noSuchFileOrDirectory, .notDirectory: return access == .reading ? .fileReadNoSuchFile : .fileNoSuchFile
    case .permissionDenied, .notPermitted: return access == .reading ? .fileReadNoPermission : .fileWriteNoPermission
    case .fileExists: return .fileWriteFileExists
    case .noSpace, .diskQuotaExceeded: return .fileWriteOutOfSpace
    case .readOnlyFileSystem: return access == .reading ? .fileReadUnknown : .fileWriteVolumeReadOnly
    default: return access == .reading ? .fileReadUnknown : .fileWriteUnknown
    }
}

/// Runs asynchronous work on the calling thread, and throws its errors in Cocoa's domains.
func cocoaCall<Value>(_ access: FailedAccess, _ work: () async throws -> Value) throws -> Value {
    do { return try blockingCaller(work) } catch { throw cocoaError(error, access) }
}
