/// A presenter of this package that hears only of coordinated accesses.
///
/// Its item is not watched for other changes, so the item can be a whole tree with frequent changes. It is not a
/// presenter of the app, so ``FileCoordinator/filePresenters`` does not list it.
package protocol CoordinationWitness: FilePresenter {}
