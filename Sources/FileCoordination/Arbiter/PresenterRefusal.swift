import Foundation

/// A presenter's error, as it reaches the process whose access failed.
package struct PresenterRefusal: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The error in words.
    package let reason: String
    /// The error's domain, such as `NSCocoaErrorDomain`.
    package let domain: String
    /// The error's number in its domain.
    package let code: Int

    package init(_ reason: String, domain: String, code: Int) {
        self.reason = reason
        self.domain = domain
        self.code = code
    }

    package init(_ error: any Error) {
        // Foundation on Linux gives a Cocoa error the domain and the number that Swift gives to any type.
        switch error {
        case let error as CocoaError: self.init("\(error)", domain: NSCocoaErrorDomain, code: error.code.rawValue)
        case let error as any CustomNSError: self.init("\(error)", domain: type(of: error).errorDomain, code: error.errorCode)
        default: self.init("\(error)", domain: error._domain, code: error._code)
        }
    }

    package init(stringLiteral reason: String) { self.init(reason, domain: FileCoordinationError.errorDomain, code: 3) }
}
