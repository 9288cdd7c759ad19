internal import StoreExchange
internal import StoreRecords
package import SystemPackage
internal import UbiquityContainers

extension InspectedStore {
    /// Returns the kind of store file that an app uses at a path, and its account; nil if that is not recorded.
    ///
    /// - Parameter path: the path that the app gave its store.
    /// - Returns: `local`, `fallback` or `account`, and the account, which is empty while nobody is signed in.
    package static func lastPlace(of path: FilePath) -> (place: String, account: String)? {
        switch LastPlace(of: path).note?.place {
        case .local?: ("local", "")
        case .fallback(let account)?: ("fallback", account.description)
        case .account(let account)?: ("account", account.description)
        case nil: nil
        }
    }
}
