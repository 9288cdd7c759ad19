internal import StoreExchange
internal import StoreRecords
package import SystemPackage
internal import UbiquityContainers

extension StoreInspection {
    /// Whether an app that was given a store at a path uses a local or a fallback file there, and whose; nil where it has not been noted.
    ///
    /// - Parameter path: the path that the app gave its store.
    /// - Returns: `local`, `fallback` or `account`, and the account; empty while nobody is signed in.
    package static func lastPlace(of path: FilePath) -> (place: String, account: String)? {
        switch LastPlace(of: path).note?.place {
        case .local?: ("local", "")
        case .fallback(let account)?: ("fallback", account.description)
        case .account(let account)?: ("account", account.description)
        case nil: nil
        }
    }
}
